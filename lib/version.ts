import manifest from '../package.json' with { type: 'json' };

/** This release of toolyard, as its servers and its command line report it. */
export const version = manifest.version;
