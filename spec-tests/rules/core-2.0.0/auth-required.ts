import { fail, pass, type Rule, skip } from '../../rule.ts';

/** Web API Core 2.0.0, 2.2 and 2.6.1 (which names 403, where HTTP has 401). */
export const rule: Rule = {
  id: 'core-2.0.0/auth-required',
  covers: ['CORE-2.0.0.18a', 'CORE-2.0.0.16d'],
  clause: 'A request without or with a wrong token is refused.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent without Authorization, and with a token that was never given out.',
  expects: 'HTTP 401 or 403 for both.',
  async check(context) {
    if (context.settings.auth === 'none') return skip('the run was made without credentials');
    const bare = await context.http.send('EntityEvent?$top=1', { anonymous: true });
    const headers = { Authorization: 'Bearer not-a-token-of-this-server' };
    const wrong = await context.http.send('EntityEvent?$top=1', { anonymous: true, headers });
    const open = [bare, wrong].find(each => each.status !== 401 && each.status !== 403);
    if (open === undefined)
      return pass(`HTTP ${bare.status} without and ${wrong.status} with a wrong token`, [bare]);
    const reason = `HTTP ${open.status} ${open === bare ? 'without a token' : 'with a wrong token'}`;
    return fail(reason, 'Refuse requests without a valid bearer token.', [open]);
  },
};
