import assert from 'node:assert/strict';
import fc from 'fast-check';
import { datePattern, isoDate } from './date-pattern.ts';

describe('dates of seeding files', () => {
  it('reads ISO 8601 as UTC unless an offset says otherwise', () => {
    assert.equal(isoDate('2015-03-07'), '2015-03-07T00:00:00Z');
    assert.equal(isoDate('2015-03-07T14:05'), '2015-03-07T14:05:00Z');
    assert.equal(isoDate('2015-03-07 14:05:09.123456'), '2015-03-07T14:05:09.123456Z');
    assert.equal(isoDate('2015-03-07T00:30:00+01:00'), '2015-03-06T23:30:00Z');
    assert.equal(isoDate('2015-12-31T23:30:00-0800'), '2016-01-01T07:30:00Z');
    assert.equal(isoDate('2016-02-29T00:00:00Z'), '2016-02-29T00:00:00Z');
  });

  it('refuses what is not in the calendar or not on the clock', () => {
    for (const text of [
      '2015-02-29',
      '2015-13-01',
      '2015-00-10',
      '2015-04-31',
      '0000-01-01',
      '2015-03-07T24:00',
      '2015-03-07T12:60',
      '2015-03-07T12:00:60',
      '2015-03-07T12:00+25:00',
      '0001-01-01T00:00:00+01:00',
      '9999-12-31T23:59:59-01:00',
      '2015-3-7',
      '07/03/2015',
      '2015-03-07T',
      ' 2015-03-07',
      '',
    ]) {
      assert.equal(isoDate(text), undefined, text);
    }
  });

  it('reads patterns of fixed width, of one or two digits, and with literals', () => {
    assert.equal(datePattern("yyyyMMdd'T'HHmmss")('20150307T140509'), '2015-03-07T14:05:09Z');
    assert.equal(datePattern('dd/MM/yy')('03/12/16'), '2016-12-03T00:00:00Z');
    assert.equal(datePattern('d/M/yyyy')('3/12/2016'), '2016-12-03T00:00:00Z');
    assert.equal(datePattern('d/M/yyyy')('13/1/2016'), '2016-01-13T00:00:00Z');
    assert.equal(
      datePattern("yyyy-MM-dd 'at' HH:mm:ss.SSS")('2016-01-02 at 03:04:05.678'),
      '2016-01-02T03:04:05.678Z',
    );
    assert.equal(datePattern("dd.MM.yyyy H'h'mm")('02.01.2016 7h05'), '2016-01-02T07:05:00Z');
    assert.equal(datePattern("yyyy''MM''dd")("2016'01'02"), '2016-01-02T00:00:00Z');
  });

  it('takes two-digit years from 1969 to 2068', () => {
    const read = datePattern('yyMMdd');
    assert.equal(read('680101'), '2068-01-01T00:00:00Z');
    assert.equal(read('690101'), '1969-01-01T00:00:00Z');
  });

  it('treats every other character of a pattern as itself', () => {
    const read = datePattern('yyyy.MM.dd (HH)');
    assert.equal(read('2016.01.02 (03)'), '2016-01-02T03:00:00Z');
    assert.equal(read('2016x01x02 (03)'), undefined);
  });

  it('refuses patterns that cannot name a day', () => {
    const bad: [string, RegExp][] = [
      ['yyyy-MM', /lacks the day/],
      ['dd/MM', /lacks the year/],
      ['yyyy-MM-dd yy', /names the year twice/],
      ['yyyy-MM-ddTHH', /T stands for nothing/],
      ['yyyy-MMM-dd', /MMM stands for nothing/],
      ["yyyy-MM-dd'T", /a quote is not closed/],
    ];
    for (const [pattern, reason] of bad) assert.throws(() => datePattern(pattern), reason, pattern);
  });

  it('reads back whatever moment it is given', () => {
    const read = datePattern('yyyy-MM-dd HH:mm:ss.SSS');
    const moments = fc.date({
      min: new Date('0001-01-01'),
      max: new Date('9999-12-31T23:59:59Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(moments, moment => {
        const iso = moment.toISOString();
        assert.equal(read(iso.replace('T', ' ').replace('Z', '')), iso);
        assert.equal(isoDate(iso), iso);
      }),
    );
  });
});
