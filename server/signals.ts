/** npm passes Ctrl-C on to a process that the terminal has told already: what comes this soon is the same signal. */
const sameSignalMs = 1_000;

/** Resolves with the name of the first SIGINT or SIGTERM; a later one ends the process at once. */
export function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise(resolve => {
    const names: NodeJS.Signals[] = ['SIGINT', 'SIGTERM'];
    let firstAt: number | undefined;
    for (const name of names) {
      process.on(name, () => {
        const now = performance.now();
        if (firstAt !== undefined && now - firstAt > sameSignalMs) process.exit(1);
        firstAt ??= now;
        resolve(name);
      });
    }
  });
}
