/** Unix time, ms, that nobody can set: it begins as the system's and runs steadily, so that waits neither end early nor last for ever. */
export function steadyNow(): number {
  return performance.timeOrigin + performance.now();
}
