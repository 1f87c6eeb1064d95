import type { S3Client } from '@aws-sdk/client-s3';
import { PulsefeedError } from '../../base/errors.ts';
import type { ArchiveStore } from './store.ts';

type Sdk = typeof import('@aws-sdk/client-s3');

/**
 * A bucket of an S3-compatible store. Credentials, and what the address leaves out, come from the environment as the SDK
 * reads it. @throws EE-700 for an address without a bucket, and on use when `@aws-sdk/client-s3` is not installed.
 */
export function s3Store(location: string): ArchiveStore {
  const { bucket, prefix, endpoint, region, pathStyle } = readAddress(location);
  let opened: Promise<{ sdk: Sdk; client: S3Client }> | undefined;
  const connect = () => {
    opened ??= loadSdk().then(sdk => ({
      sdk,
      client: new sdk.S3Client({
        ...(endpoint === undefined ? {} : { endpoint }),
        ...(region === undefined ? {} : { region }),
        forcePathStyle: pathStyle,
        // Otherwise puts are streamed with a trailing checksum, which not every store takes off again.
        requestChecksumCalculation: 'WHEN_REQUIRED',
        responseChecksumValidation: 'WHEN_REQUIRED',
      }),
    }));
    return opened;
  };
  const at = (name: string) => ({ Bucket: bucket, Key: prefix + name });
  return {
    location: `s3://${bucket}/${prefix}`,
    async put(name, bytes) {
      const { sdk, client } = await connect();
      await client.send(
        new sdk.PutObjectCommand({ ...at(name), Body: bytes, ContentLength: bytes.byteLength }),
      );
    },
    async get(name) {
      const { sdk, client } = await connect();
      const found = await client.send(new sdk.GetObjectCommand(at(name))).catch(undefinedWhenMissing);
      return found?.Body?.transformToByteArray();
    },
    async size(name) {
      const { sdk, client } = await connect();
      const found = await client.send(new sdk.HeadObjectCommand(at(name))).catch(undefinedWhenMissing);
      return found?.ContentLength;
    },
    async list() {
      const { sdk, client } = await connect();
      const names: string[] = [];
      for (let token: string | undefined; ; ) {
        const page = await client.send(
          new sdk.ListObjectsV2Command({
            Bucket: bucket,
            Prefix: prefix,
            ...(token === undefined ? {} : { ContinuationToken: token }),
          }),
        );
        for (const { Key } of page.Contents ?? [])
          if (Key !== undefined) names.push(Key.slice(prefix.length));
        token = page.NextContinuationToken;
        if (page.IsTruncated !== true || token === undefined) return names;
      }
    },
  };
}

function readAddress(location: string) {
  const url = URL.canParse(location) ? new URL(location) : undefined;
  if (url === undefined || url.hostname === '') {
    throw new PulsefeedError('EE-700', `The archive's address is s3://bucket/prefix, not '${location}'.`);
  }
  const path = decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, '');
  return {
    bucket: url.hostname,
    prefix: path === '' ? '' : `${path}/`,
    endpoint: url.searchParams.get('endpoint') ?? undefined,
    region: url.searchParams.get('region') ?? undefined,
    pathStyle: url.searchParams.get('pathStyle') === 'true',
  };
}

async function loadSdk(): Promise<Sdk> {
  try {
    return await import('@aws-sdk/client-s3');
  } catch (error) {
    throw new PulsefeedError(
      'EE-700',
      'An archive in S3 needs a package that is not installed: npm install @aws-sdk/client-s3.',
      { cause: error },
    );
  }
}

function undefinedWhenMissing(error: unknown): undefined {
  const name = error instanceof Error ? error.name : '';
  if (name === 'NoSuchKey' || name === 'NotFound') return undefined;
  throw error;
}
