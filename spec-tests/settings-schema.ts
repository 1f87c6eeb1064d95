const ms = { type: 'integer', minimum: 0, maximum: 600_000 };
const text = { type: 'string', minLength: 1 };
const record = { type: 'object' };

/** JSON Schema of the options of a run, which is also the schema of a `--suite-config` file. */
export const settingsSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['url'],
  properties: {
    url: text,
    mode: { enum: ['observe', 'full', 'stress', 'push'] },
    core: { enum: ['2.0.0', '2.1.0'] },
    token: text,
    clientId: text,
    clientSecret: text,
    tokenUrl: text,
    scope: text,
    only: { type: 'array', items: text },
    maxEvents: { type: 'integer', minimum: 1, maximum: 1_000_000 },
    sampleRecords: { type: 'integer', minimum: 1, maximum: 10_000 },
    paceMs: ms,
    timeoutMs: { type: 'integer', minimum: 10, maximum: 600_000 },
    maxSeconds: { type: 'integer', minimum: 1, maximum: 86_400 },
    strict: { type: 'boolean' },
    requireHttps: { type: 'boolean' },
    canary: {
      type: 'object',
      additionalProperties: false,
      properties: {
        resource: text,
        create: record,
        update: record,
        child: {
          type: 'object',
          additionalProperties: false,
          required: ['resource', 'create'],
          properties: { resource: text, create: record },
        },
        waitMs: ms,
        pollMs: ms,
      },
    },
    stress: {
      type: 'object',
      additionalProperties: false,
      properties: {
        writers: { type: 'integer', minimum: 1, maximum: 16 },
        readers: { type: 'integer', minimum: 1, maximum: 16 },
        writesPerWriter: { type: 'integer', minimum: 1, maximum: 500 },
      },
    },
    push: {
      type: 'object',
      additionalProperties: false,
      properties: {
        publicUrl: text,
        host: text,
        port: { type: 'integer', minimum: 0, maximum: 65_535 },
        waitMs: ms,
        retryAfterSeconds: { type: 'integer', minimum: 1, maximum: 60 },
        quietMs: ms,
        credentialId: text,
        token: text,
        subscription: record,
      },
    },
  },
};
