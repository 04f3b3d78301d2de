import { parentPort } from 'node:worker_threads';
import { convert, type Conversion } from './conversion.ts';

/** One conversion at a time; the pool ends this thread when one takes too long. What is thrown here ends it too. */
parentPort?.on('message', (conversion: Conversion) => parentPort?.postMessage(convert(conversion), []));
