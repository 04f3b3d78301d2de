import { convert, type Conversion } from './conversion.ts';

// a terminal's Ctrl-C reaches the whole group, while pages in flight are still to be finished; the pool ends this process
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});

/** One conversion at a time; the pool ends this process when one takes too long. What is thrown here ends it too. */
process.on('message', async (conversion: Conversion) => process.send?.(await convert(conversion)));
