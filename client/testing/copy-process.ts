import { replicate } from '../replicate.ts';
import { storeFor } from '../stores/open-store.ts';

/** A process to be killed: copies from the first argument to the second in many small batches. */
const [url = '', target = ''] = process.argv.slice(2);
const store = storeFor(target);
await replicate({
  url,
  store,
  batchSize: 5,
  windowSize: 10,
  readAhead: 40,
  pageSize: 20,
  retry: { baseMs: 5, capMs: 20 },
});
await store.close();
