/**
 * What the pages can do more with a script, and nothing that they need one for: `/` goes to the search, a list follows what is typed, and
 * lines are copied. It runs by its hash in the policy, and asks this registry only.
 */
export const script = `
const field = document.querySelector('.search input[type=search]');
addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) return;
  event.preventDefault();
  if (field) { field.focus(); field.select(); } else location.assign('/');
});

let asked = 0;
async function follow() {
  const mine = ++asked;
  const address = '/?' + new URLSearchParams(new FormData(field.form));
  const answer = await fetch(address).then((response) => (response.ok ? response.text() : undefined), () => undefined);
  if (mine !== asked || answer === undefined) return;
  const next = new DOMParser().parseFromString(answer, 'text/html');
  for (const id of ['filters', 'results']) document.getElementById(id).replaceChildren(...next.getElementById(id).childNodes);
  const count = document.getElementById('count');
  count.textContent = next.getElementById('count').textContent;
  history.replaceState(null, '', address);
}
let timer;
field?.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(follow, 120); });

if (navigator.clipboard) for (const button of document.querySelectorAll('figcaption button')) {
  button.hidden = false;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(button.closest('figure').querySelector('pre').textContent).then(
      () => { button.textContent = 'Copied'; },
      () => { button.textContent = 'Not copied'; },
    );
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  });
}
`;
