/** The style sheet of the HTML report; light and dark. */
export const styles = `
:root{--ink:#1c2330;--soft:#5b6675;--line:#d9dee6;--paper:#fff;--back:#f4f6f9;--code:#f0f2f6;
--pass:#1f8a4c;--fail:#c62f3b;--warn:#b46a00;--skip:#6b7686;--seek:#e08a00;--bar:#3268c7}
@media (prefers-color-scheme:dark){:root{--ink:#e4e8ee;--soft:#9aa5b4;--line:#333c49;--paper:#1a2029;--back:#12161c;
--code:#232b36;--pass:#4cc07d;--fail:#f0707a;--warn:#e5a13d;--skip:#93a0b0;--seek:#f0a63a;--bar:#6d9cf0}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:980px;margin:0 auto;padding:24px 16px 48px}
header,section{background:var(--paper);border:1px solid var(--line);border-radius:10px;padding:20px 24px;margin-bottom:16px}
h1{font-size:20px;margin:10px 0 12px;overflow-wrap:anywhere}
h2{font-size:16px;margin:0 0 10px}h2 small{color:var(--soft);font-weight:400;margin-left:4px}
.badge{display:inline-block;margin:0;padding:3px 12px;border-radius:999px;color:#fff;font-weight:600}
.badge.yes{background:#1f8a4c}.badge.no{background:#c62f3b}.badge.unknown{background:#6b7686}
.problem,.note{border-left:3px solid var(--warn);padding:4px 12px;margin:8px 0;overflow-wrap:anywhere}
dl{display:flex;flex-wrap:wrap;gap:6px 28px;margin:0 0 14px}dt{color:var(--soft);font-size:12px}dd{margin:0}
.tally{display:flex;flex-wrap:wrap;gap:8px;margin:0}
.count{border:1px solid var(--line);border-radius:8px;padding:4px 12px}
.count b{font-size:17px}.count.pass b{color:var(--pass)}.count.fail b{color:var(--fail)}
.count.warn b{color:var(--warn)}.count.skip b{color:var(--skip)}
details{border-top:1px solid var(--line)}
summary{display:grid;grid-template-columns:14px minmax(210px,auto) 64px 1fr;gap:10px;align-items:baseline;padding:8px 0;cursor:pointer;list-style:none}
summary::-webkit-details-marker{display:none}
summary code{font-size:13px;overflow-wrap:anywhere}
.level{color:var(--soft);font-size:11px;letter-spacing:.04em}
.reason{overflow-wrap:anywhere}
.dot{width:10px;height:10px;border-radius:50%;align-self:center}
.dot.pass{background:var(--pass)}.dot.fail{background:var(--fail)}.dot.warn{background:var(--warn)}.dot.skip{background:var(--skip)}
.body{padding:0 0 12px 24px}.body p{margin:4px 0 8px}.asked{color:var(--soft);font-size:13px}
.remedy{background:var(--code);border-radius:6px;padding:6px 10px}
pre{background:var(--code);border-radius:6px;padding:8px 10px;margin:0 0 6px;font-size:12px;white-space:pre-wrap;overflow-wrap:anywhere;max-height:220px;overflow:auto}
pre.request{border-left:3px solid var(--bar)}pre.answer{border-left:3px solid var(--line);margin-bottom:12px}
svg{width:100%;height:auto;display:block}svg text{fill:var(--soft);font-size:11px}svg .name{font-style:italic}
svg .axis{fill:none;stroke:var(--line);stroke-width:1.5}
svg rect.good{fill:var(--bar)}svg rect.seek{fill:var(--seek)}svg .bad{fill:var(--fail)}
svg .gap{stroke:var(--soft);stroke-width:1;stroke-dasharray:2 3}svg .empty{fill:none;stroke:var(--warn);stroke-width:1.5}
.legend{display:flex;flex-wrap:wrap;gap:4px 20px;color:var(--soft);font-size:13px;margin:8px 0 0}
.key{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:6px}
.key.good{background:var(--bar)}.key.seek{background:var(--seek)}.key.bad{background:var(--fail)}
.key.empty{border:1.5px solid var(--warn);border-radius:50%}.key.gap{background:none;border-left:2px dashed var(--soft);width:4px}
footer{color:var(--soft);font-size:12px;text-align:center}
@media (max-width:640px){summary{grid-template-columns:14px 1fr 60px}.reason{grid-column:2/4}header,section{padding:14px}}
@media print{body{background:#fff}details{break-inside:avoid}pre{max-height:none}}
`;
