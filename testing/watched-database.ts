import type { Db, Queryable } from '../server/base/db/index.ts';

/** For tests: the same database, with `onStatement` told of the text of each statement before it runs. */
export function watchedDatabase(db: Db, onStatement: (text: string) => void): Db {
  const watched = (queryable: Queryable): Queryable => ({
    query: statement => {
      onStatement(statement.text);
      return queryable.query(statement);
    },
    script: sql => {
      onStatement(sql);
      return queryable.script(sql);
    },
  });
  return {
    ...db,
    ...watched(db),
    transaction: (work, options) => {
      onStatement('begin');
      return db.transaction(tx => work(watched(tx)), options);
    },
  };
}
