/** All versions of a server, below `/v0.1`. */
export function versionsPath(name: string): string {
  return `/servers/${segment(name)}/versions`;
}

/** One record, below `/v0.1`. */
export function versionPath(name: string, version: string): string {
  return `${versionsPath(name)}/${segment(version)}`;
}

/** One segment of a path. The registry decodes twice, so a percent sign is escaped twice; and dots alone would be resolved on the way. */
function segment(text: string): string {
  const dots = /^\.{1,2}$/.test(text) ? text.replaceAll('.', '%2E') : text.replaceAll('%', '%25');
  return encodeURIComponent(dots);
}
