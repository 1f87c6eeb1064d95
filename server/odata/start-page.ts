import { createHash } from 'node:crypto';

const style = `
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5a6675; --line: #dde3ea; --ground: #f7f9fb; --card: #fff; --accent: #0b6e5f; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6ebf1; --soft: #9aa7b5; --line: #2c3642; --ground: #12181f; --card: #1a222c; --accent: #58c9b4; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.6 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 46rem; margin: 0 auto; padding: 3.5rem 1.25rem 4rem; }
h1 { margin: 0 0 .25rem; font-size: 2.1rem; letter-spacing: -.02em; }
h1 svg { width: 2.2rem; height: 1.5rem; margin-left: .5rem; vertical-align: -.1rem; }
h2 { margin: 2.5rem 0 .75rem; font-size: 1.15rem; }
p { margin: .5rem 0; } .lead { color: var(--soft); font-size: 1.1rem; }
ol { list-style: none; margin: 0; padding: 0; counter-reset: step; }
ol li { counter-increment: step; background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: 1rem 1.1rem; margin: .75rem 0; }
ol li > p:first-child { margin-top: 0; font-weight: 600; }
ol li > p:first-child::before { content: counter(step) ". "; color: var(--accent); }
pre { margin: .5rem 0 0; padding: .7rem .85rem; white-space: pre-wrap; overflow-wrap: anywhere; background: var(--ground); border: 1px solid var(--line); border-radius: .4rem; }
code, pre { font: .875rem/1.5 ui-monospace, "Cascadia Mono", Menlo, Consolas, monospace; }
a { color: var(--accent); } a:focus-visible { outline: 2px solid; outline-offset: 2px; }
ul { margin: 0; padding-left: 1.2rem; } li small { color: var(--soft); }
footer { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--soft); font-size: .9rem; }
`;

/** What the page may load: nothing but its own style, told by its digest. */
export const startPagePolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join(';');

/** The page that people see who open the service in a browser. It loads nothing; `root` is the service root. */
export function startPage(root: string, sets: readonly string[]): string {
  const at = (path: string) => escapeHtml(`${root}/${path}`);
  const records = sets.filter(name => name !== 'EntityEvent');
  const [first = 'Property'] = records;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Pulsefeed</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>Pulsefeed<svg viewBox="0 0 44 24" fill="none" stroke="var(--accent)" stroke-width="2.5" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="M2 13h9l4-9 7 17 5-12 3 4h12"/></svg></h1>
<p class="lead">A feed of changes to real-estate records: RESO EntityEvent over OData 4.01.</p>
<p>Each event is a number, a resource and a key. It says that this record is new, changed or gone, and that it is
time to fetch it again. Numbers only grow, so the last one you have seen is all you need to remember.</p>

<h2>Three requests to try</h2>
<ol>
<li><p>Read the feed from its beginning</p>
<p>Follow <code>@odata.nextLink</code> until a page has none.</p>
${curl(at('EntityEvent'))}</li>
<li><p>Ask for what came since</p>
<p>Put the last <code>EntityEventSequence</code> you have in the place of the 0, now and then for ever.</p>
${curl(at('EntityEvent?$filter=EntityEventSequence%20gt%200&$top=1000'))}</li>
<li><p>Fetch the record an event names</p>
<p>200 is its present state. 404 says that it is gone or not yours to see: delete your copy.</p>
${curl(at(`${first}('KEY')`))}</li>
</ol>

<h2>What is here</h2>
<ul>
<li><a href="${at('EntityEvent?$top=10')}">EntityEvent</a> <small>the feed</small></li>
${records.map(name => `<li><a href="${at(`${encodeURIComponent(name)}?$top=10`)}">${escapeHtml(name)}</a> <small>records</small></li>`).join('\n')}
<li><a href="${at('$metadata')}">$metadata</a> <small>the model, as CSDL</small></li>
<li><a href="${at('openapi.json')}">openapi.json</a> <small>the same model, as OpenAPI 3.1</small></li>
<li><a href="${at('?$format=json')}">Service document</a> <small>for OData clients such as Excel and Power BI: give them ${at('')}</small></li>
</ul>
<footer>Served from <code>${escapeHtml(root)}</code>. Where a token is needed, send it as <code>Authorization: Bearer</code>.</footer>
</main>
</body>
</html>
`;
}

/** Single quotes keep a shell away from `$` and `&`; one within the URL is written as its percent code. */
function curl(escapedUrl: string): string {
  return `<pre>curl '${escapedUrl.replaceAll('&#39;', '%27')}'</pre>`;
}

function escapeHtml(text: string): string {
  return text.replace(/[<>&"']/g, character => `&#${character.charCodeAt(0)};`);
}
