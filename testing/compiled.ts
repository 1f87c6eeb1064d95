import { execFile } from 'node:child_process';
import { copyFile, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder } from './temporary-folder.ts';

const repository = fileURLToPath(new URL('..', import.meta.url));

/**
 * Compiles a TypeScript file of the repository and what it imports to plain JavaScript, and returns the path of the
 * result. For tests that start a program again and again: a process with tsx takes a second of processor time to
 * start, a compiled one a quarter of it; the compilation takes half a second.
 */
export async function compiled(file: URL): Promise<string> {
  const { path: folder } = await temporaryFolder('compiled');
  const output = join(folder, 'out');
  const config = {
    extends: join(repository, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      noCheck: true,
      declaration: false,
      sourceMap: false,
      outDir: output,
      rootDir: repository,
      typeRoots: [join(repository, 'node_modules/@types')],
    },
    include: [],
    files: [fileURLToPath(file)],
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const typescript = dirname(createRequire(import.meta.url).resolve('typescript/package.json'));
  await promisify(execFile)(process.execPath, [join(typescript, 'lib/tsc.js'), '-p', folder]);
  await copyFile(join(repository, 'package.json'), join(output, 'package.json'));
  for (const shared of ['node_modules', 'schema']) {
    await symlink(join(repository, shared), join(output, shared), 'junction');
  }
  return join(output, relative(repository, fileURLToPath(file)).replace(/\.ts$/, '.js'));
}
