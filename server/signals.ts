/** Resolves with the name of the first SIGINT or SIGTERM; a second one ends the process at once. */
export function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise(resolve => {
    const names: NodeJS.Signals[] = ['SIGINT', 'SIGTERM'];
    let seen = false;
    for (const name of names) {
      process.on(name, () => {
        if (seen) process.exit(1);
        seen = true;
        resolve(name);
      });
    }
  });
}
