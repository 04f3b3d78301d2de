/** All of the pages' looks. One accent; states have a shape and a word besides their colour. Every pair of colours has a contrast of 4.5 or more. */
export const style = `
:root { color-scheme: light dark;
  --page: light-dark(#f7f7f5, #121416); --panel: light-dark(#fff, #1a1d20); --code: light-dark(#f3f4f2, #14171a);
  --ink: light-dark(#1d2023, #e7e9ea); --faint: light-dark(#5a6068, #a0a7ae); --line: light-dark(#e0e1dd, #2c3136); --edge: light-dark(#8b9198, #6d757d);
  --accent: light-dark(#0a665d, #6fd3c6); --on-accent: light-dark(#fff, #06211e); --tint: light-dark(#e3f1ef, #16302d);
  --published: light-dark(#1a7f37, #4cc26a); --deprecated: light-dark(#b25e00, #e0a23c); --withdrawing: light-dark(#7a5cb8, #b79cf2);
  --pending: light-dark(#2f6fc0, #7db4f5); --refused: light-dark(#c2273a, #ff7f83); --deleted: light-dark(#6b7178, #959ca3) }
* { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
h1, h2, h3, p, ul, ol, dl, dd, figure, pre { margin: 0; padding: 0 }
h1 { font-size: 1.6rem; line-height: 1.25; letter-spacing: -.01em }
h2 { font-size: 1.05rem; line-height: 1.4 }
h3 { font-size: .95rem }
ul, ol { list-style: none }
a { color: var(--accent); text-underline-offset: .2em; text-decoration-thickness: 1px }
a:hover { text-decoration-thickness: 2px }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px }
code, pre { font: .85em/1.55 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; unicode-bidi: isolate }
[hidden] { display: none !important }
.skip { position: absolute; left: -99rem } .skip:focus { left: 1rem; top: 1rem; padding: .5rem .9rem; background: var(--panel); z-index: 1 }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }
.faint { color: var(--faint) } .small { font-size: .875rem }
.bar { border-bottom: 1px solid var(--line); background: var(--panel) }
.bar > div, main, footer { max-width: 62rem; margin: 0 auto; padding: 0 1.25rem }
.bar > div { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: .25rem 1.5rem; padding-block: .7rem }
.brand { color: inherit; font-weight: 650; text-decoration: none; display: flex; align-items: center; gap: .55rem }
.brand::before { content: ""; width: 1.05rem; height: 1.05rem; border-radius: 4px; border: 3px solid var(--accent); border-right-width: 8px }
.bar ul { display: flex; gap: 1.25rem; font-size: .9rem }
main { padding-block: 2rem 3rem }
footer { padding-bottom: 3rem; color: var(--faint); font-size: .85rem }
footer dt { color: var(--ink) } footer dt::after { content: ":" }
footer dl { border-top: 1px solid var(--line); padding-top: 1.1rem; display: flex; flex-wrap: wrap; gap: .2rem 1.1rem } footer dl div { display: flex; flex-wrap: wrap; gap: 0 .35rem; align-items: baseline }

.search { display: flex; gap: .5rem; margin: 1.25rem 0 .9rem }
.search input { flex: 1; min-width: 0 }
input, button { font: inherit; color: inherit; padding: .55rem .85rem; border: 1px solid var(--edge); border-radius: 8px; background: var(--panel) }
input::placeholder { color: var(--faint); opacity: 1 }
button { cursor: pointer }
.search button { background: var(--accent); border-color: var(--accent); color: var(--on-accent); font-weight: 600; padding-inline: 1.2rem }
.filters { display: flex; flex-wrap: wrap; gap: .4rem }
.filters a { display: inline-flex; align-items: center; gap: .4rem; padding: .25rem .7rem; border: 1px solid var(--line); border-radius: 99px; color: inherit; background: var(--panel);
  font-size: .875rem; text-decoration: none }
.filters a:hover { border-color: var(--edge) }
.filters [aria-current] { border-color: var(--accent); background: var(--tint); box-shadow: inset 0 0 0 1px var(--accent); font-weight: 600 }
.filters b { font-weight: 400; color: var(--faint); font-variant-numeric: tabular-nums }
.count { margin: 1.25rem 0 .5rem; color: var(--faint); font-size: .875rem }

.state { display: inline-flex; align-items: center; gap: .4rem; font-size: .85rem; white-space: nowrap }
.state::before { content: ""; flex: none; width: .65rem; height: .65rem; background: var(--tone); clip-path: circle(50%); forced-color-adjust: none }
.state.published { --tone: var(--published) } .state.deprecated { --tone: var(--deprecated) } .state.withdrawing { --tone: var(--withdrawing) }
.state.pending { --tone: var(--pending) } .state.refused { --tone: var(--refused) } .state.deleted { --tone: var(--deleted) }
.state.deprecated::before { clip-path: polygon(50% 4%, 100% 96%, 0 96%) }
.state.withdrawing::before { clip-path: polygon(0 20%, 100% 20%, 50% 96%) }
.state.pending::before { clip-path: none; background: none; border: 2px solid var(--tone); border-radius: 50% }
.state.refused::before { clip-path: polygon(18% 0, 50% 32%, 82% 0, 100% 18%, 68% 50%, 100% 82%, 82% 100%, 50% 68%, 18% 100%, 0 82%, 32% 50%, 0 18%) }
.state.deleted::before { clip-path: inset(38% 0) }

.entries { background: var(--panel); border: 1px solid var(--line); border-radius: 10px }
.entries > li { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 0 1.5rem; padding: .85rem 1.1rem; position: relative; overflow: clip }
.entries > li + li { border-top: 1px solid var(--line) }
.entries > li:hover { background: color-mix(in srgb, var(--tint) 35%, var(--panel)) }
.entries h2 { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 .6rem }
.entries h2 a { color: inherit; text-decoration: none } .entries h2 a:hover { color: var(--accent); text-decoration: underline }
.entries h2 a::after { content: ""; position: absolute; inset: 0 }
.entries h2 > a + code { font-weight: 400; color: var(--faint) }
.entries .where { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 1rem; color: var(--faint); font-size: .85rem; margin-top: .1rem }
.entries .side { display: flex; flex-direction: column; align-items: flex-end; gap: .15rem; text-align: end }
.version { font-size: .85rem; font-variant-numeric: tabular-nums; max-width: 14rem }
.entries .where code { font-size: .95em }
.why { margin-top: .3rem; padding-left: .7rem; border-left: 3px solid var(--line); font-size: .875rem; grid-column: 1 / -1 }
.pages { display: flex; flex-wrap: wrap; gap: .5rem 1.25rem; align-items: center; justify-content: center; margin-top: 1.5rem; font-size: .9rem }
.empty { padding: 2rem 1.25rem; border: 1px dashed var(--edge); border-radius: 10px; display: grid; gap: .75rem }
.empty > * { max-width: 42rem }

.record { display: grid; grid-template-columns: minmax(0, 1fr) 17rem; gap: 2rem 3rem; align-items: start; margin-top: 2rem }
.record > div { display: grid; gap: 2.25rem; min-width: 0 } .record section { display: grid; gap: .8rem; min-width: 0 }
.record h2 { font-size: 1.15rem }
.head { display: grid; gap: .4rem; margin-top: 1rem } .head .line { display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: center }
.facts { display: grid; gap: .9rem; font-size: .9rem } .facts dt { color: var(--faint); font-size: .8rem }
.notice { border: 1px solid var(--line); border-left: 4px solid var(--tone, var(--edge)); border-radius: 8px; padding: .7rem 1rem; background: var(--panel); margin-top: 1rem; font-size: .95rem }
.notice.deprecated { --tone: var(--deprecated) } .notice.deleted { --tone: var(--deleted) } .notice.refused { --tone: var(--refused) }
.notice.pending { --tone: var(--pending) } .notice.withdrawing { --tone: var(--withdrawing) }
.notice ul { margin-top: .3rem; font-size: .875rem } .notice li { padding-left: 1rem; text-indent: -1rem }
figure { border: 1px solid var(--line); border-radius: 8px; background: var(--code); overflow: clip }
figcaption { display: flex; justify-content: space-between; align-items: center; gap: 1rem; min-height: 2.3rem; padding: .2rem .4rem .2rem .85rem; border-bottom: 1px solid var(--line); background: var(--panel);
  font-size: .875rem; font-weight: 600 }
figcaption button { flex: none; white-space: nowrap; font-size: .8rem; font-weight: 400; padding: .15rem .65rem; border-radius: 6px }
figure pre { padding: .7rem .85rem; white-space: pre-wrap }
details { display: grid } summary { cursor: pointer; padding: .2rem 0 } details[open] summary { margin-bottom: .6rem } details > div { display: grid; gap: .8rem }
.inputs { display: grid; gap: .55rem; font-size: .9rem } .inputs dd { color: var(--faint) }
.tag { margin-left: .4rem; padding: 0 .45rem; border: 1px solid var(--line); border-radius: 99px; font-size: .78rem; color: var(--faint) }
.tools { display: flex; flex-wrap: wrap; gap: .4rem } .tools code { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .1rem .5rem }
table { border-collapse: collapse; width: 100%; font-size: .9rem } caption { text-align: start }
th, td { text-align: start; padding: .4rem .75rem .4rem 0; border-top: 1px solid var(--line); vertical-align: top } thead th { border-top: 0; color: var(--faint); font-size: .8rem; font-weight: 400 }
tbody th { font-weight: 400 }
.conditions { display: grid; gap: .6rem; font-size: .9rem } .conditions dt { font-weight: 600 }
@media (max-width: 48rem) {
  main { padding-block: 1.5rem 2rem }
  .record { grid-template-columns: minmax(0, 1fr) }
  .facts { grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)) }
  .entries > li { grid-template-columns: minmax(0, 1fr); padding-inline: .9rem; gap: .15rem }
  .entries .side { flex-flow: row-reverse wrap; justify-content: start; align-items: baseline; gap: 0 .9rem; grid-row: 2 }
}
`;
