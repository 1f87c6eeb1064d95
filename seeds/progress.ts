import cliProgress from 'cli-progress';
import type { OnSeedProgress, SeedProgress } from './seed-report.ts';

/** Where progress is shown: standard error, so that standard output holds the report alone. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Shows progress until it is ended. */
export interface ProgressDisplay {
  readonly onProgress: OnSeedProgress;
  end(): void;
}

const lineEveryMs = 5_000;

/** A bar with rate and time left on a terminal, elsewhere a line of JSON every five seconds. */
export function showProgress(
  stream: ProgressStream,
  now: () => number = () => performance.now(),
): ProgressDisplay {
  return stream.isTTY === true ? bar(stream as NodeJS.WriteStream) : jsonLines(stream, now);
}

function bar(stream: NodeJS.WriteStream): ProgressDisplay {
  const shown = new cliProgress.SingleBar(
    {
      stream,
      format: '{phase} [{bar}] {percentage}% | {value}/{total} {unit} | {rate}/s | {eta_formatted} left',
      hideCursor: true,
      clearOnComplete: true,
      etaBuffer: 50,
    },
    cliProgress.Presets.rect,
  );
  let phase: SeedProgress['phase'] | undefined;
  let startedAt = 0;
  return {
    onProgress(progress) {
      if (progress.phase !== phase) {
        if (phase !== undefined) shown.stop();
        phase = progress.phase;
        startedAt = performance.now();
        // One statement does it: there is nothing to draw a bar of.
        if (phase === 'lining up') stream.write('lining up ...\n');
        else shown.start(progress.total, progress.done, { ...rateOf(progress, 0), phase });
      }
      if (phase === 'lining up') return;
      shown.setTotal(progress.total);
      shown.update(progress.done, rateOf(progress, performance.now() - startedAt));
    },
    end() {
      if (phase !== undefined) shown.stop();
    },
  };
}

function rateOf(progress: SeedProgress, elapsedMs: number): { rate: string; unit: string } {
  const rate = elapsedMs === 0 ? 0 : (progress.done / elapsedMs) * 1000;
  return {
    rate: Math.round(rate).toLocaleString('en-US'),
    unit: progress.phase === 'reading' ? 'bytes' : 'records',
  };
}

function jsonLines(stream: ProgressStream, now: () => number): ProgressDisplay {
  let phase: SeedProgress['phase'] | undefined;
  let startedAt = 0;
  let lineAt = now();
  return {
    onProgress(progress) {
      const at = now();
      if (progress.phase !== phase) {
        phase = progress.phase;
        startedAt = at;
      }
      if (at - lineAt < lineEveryMs) return;
      lineAt = at;
      stream.write(`${JSON.stringify(progressLine(progress, at - startedAt))}\n`);
    },
    end: () => undefined,
  };
}

/** One line of progress; rate and time left as soon as they are known. */
function progressLine(progress: SeedProgress, elapsedMs: number): object {
  const { phase, done, total } = progress;
  const perSecond = elapsedMs > 0 && done > 0 ? Math.round((done / elapsedMs) * 1000) : undefined;
  return {
    phase,
    done,
    total,
    unit: phase === 'reading' ? 'bytes' : 'records',
    ...(perSecond === undefined || perSecond === 0
      ? {}
      : { perSecond, secondsLeft: Math.ceil((total - done) / perSecond) }),
  };
}
