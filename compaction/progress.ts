import { SingleBar } from 'cli-progress';

/** Tells on standard error how far a long run is. */
export interface CompactionProgress {
  /** `done` of the numbers up to `target` are behind it. */
  tell(done: bigint, target: bigint, dropped: number): void;
  /** May be called twice. */
  end(): void;
}

const everyMs = 5_000;

/** A bar on a terminal; elsewhere one line of JSON every five seconds. */
export function compactionProgress(
  verb: string,
  stream: NodeJS.WriteStream = process.stderr,
  now: () => number = () => performance.now(),
): CompactionProgress {
  if (!stream.isTTY) return jsonLines(verb, stream, now);
  const bar = new SingleBar({
    format: `${verb} [{bar}] {percentage}% | up to {value} of {total} | {dropped} dropped | {eta_formatted} left`,
    stream,
    hideCursor: true,
    clearOnComplete: true,
  });
  let started = false;
  return {
    // A bar is drawn in doubles: it may round where the log never does.
    tell(done, target, dropped) {
      if (!started) bar.start(Number(target), Number(done), { dropped });
      else bar.update(Number(done), { dropped });
      started = true;
    },
    end() {
      if (started) bar.stop();
      started = false;
    },
  };
}

function jsonLines(
  verb: string,
  stream: { write(text: string): unknown },
  now: () => number,
): CompactionProgress {
  let last = now();
  return {
    tell(done, target, dropped) {
      if (now() - last < everyMs) return;
      last = now();
      stream.write(`${JSON.stringify({ verb, upTo: String(done), target: String(target), dropped })}\n`);
    },
    end: () => undefined,
  };
}
