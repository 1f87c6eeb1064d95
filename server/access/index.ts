export { type AdminOptions, adminRouter } from './admin.ts';
export { type Authenticate, createAuthenticate } from './authenticate.ts';
export { type ConsumerRequest, type IssuedCredentials, issueConsumer, regrant, reissue } from './manage.ts';
export { type OAuthOptions, oauthRouter } from './oauth.ts';
export { type CountRequest, rateLimit } from './rate-limit.ts';
