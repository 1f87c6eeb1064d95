import S3rver from 's3rver';
import { atTestEnd } from './cleanup.ts';
import { temporaryFolder } from './temporary-folder.ts';

const credentials = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'] as const;

/**
 * Starts an emulator with one empty bucket, and gives this process the credentials that it takes; both end with the test.
 * Returns the bucket's address as the setting `archive` has it.
 */
export async function s3Emulator(): Promise<string> {
  const were = credentials.map(name => [name, process.env[name]] as const);
  for (const name of credentials) process.env[name] = 'S3RVER';
  atTestEnd(() => {
    for (const [name, was] of were) {
      if (was === undefined) delete process.env[name];
      else process.env[name] = was;
    }
    return Promise.resolve();
  });
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory: (await temporaryFolder('s3')).path,
    configureBuckets: [{ name: 'pulses' }],
  });
  const { port } = await server.run();
  atTestEnd(() => server.close());
  const endpoint = encodeURIComponent(`http://127.0.0.1:${port}`);
  return `s3://pulses/one/feed?endpoint=${endpoint}&region=us-east-1&pathStyle=true`;
}
