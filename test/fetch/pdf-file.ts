/** A PDF of one line a page, in a font that every reader has. @param more further entries of its trailer */
export function pdf(pages: readonly string[], more = ''): Buffer {
  const kids = pages.map((_, index) => `${4 + 2 * index} 0 R`).join(' ');
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    `<</Type/Pages/Kids[${kids}]/Count ${pages.length}>>`,
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>',
    ...pages.flatMap((text, index) => {
      const content = `BT /F 12 Tf 72 720 Td (${text.replace(/[()\\]/g, '\\$&')}) Tj ET`;
      const page = `<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F 3 0 R>>>>/Contents ${5 + 2 * index} 0 R>>`;
      return [page, `<</Length ${content.length}>>stream\n${content}\nendstream`];
    }),
  ];
  return fileOf(objects, more);
}

/** Numbered objects with their table; the first is the catalogue. */
export function fileOf(objects: readonly string[], more = ''): Buffer {
  let file = '%PDF-1.7\n%\xE2\xE3\xCF\xD3\n';
  const offsets = objects.map((object, index) => {
    const at = file.length;
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(at).padStart(10, '0')} 00000 n \n`;
  });
  const size = objects.length + 1;
  const table = `xref\n0 ${size}\n0000000000 65535 f \n${offsets.join('')}`;
  return Buffer.from(`${file}${table}trailer<</Size ${size}/Root 1 0 R${more}>>\nstartxref\n${file.length}\n%%EOF\n`, 'latin1');
}
