import type { Context } from '../context.ts';
import { Unexercised } from '../rule.ts';
import type { Navigation } from '../service/metadata.ts';

/** A resource that has records and a navigation property, collections first. @throws Unexercised when there is none. */
export async function expandable(context: Context): Promise<{ resource: string; navigation: Navigation }> {
  for await (const sample of context.samples()) {
    if (sample.rows.length === 0) continue;
    const { navigation } = sample.type;
    const chosen =
      navigation.find(each => each.name === 'Media') ??
      navigation.find(each => each.isCollection) ??
      navigation[0];
    if (chosen !== undefined) return { resource: sample.resource, navigation: chosen };
  }
  throw new Unexercised('no resource with records has a navigation property');
}
