/**
 * Where another entry point of the part that runs lies: as its source, or, in a bundle, as the bundle made of it, in the same directory.
 * @param source path from the module that asks
 * @param bundle its name in scripts/bundle.ts
 * @param from `import.meta.url` of the module that asks
 */
export function entryPoint(source: string, bundle: string, from: string): URL {
  return new URL(from.endsWith('.ts') ? source : `./${bundle}.mjs`, from);
}
