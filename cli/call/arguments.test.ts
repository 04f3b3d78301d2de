import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { CliError } from '../exit.ts';
import { parseWord, typedArguments, typesOf } from './arguments.ts';

const schema = {
  properties: {
    url: { type: 'string' },
    max: { type: 'integer' },
    ratio: { type: 'number' },
    raw: { type: 'boolean' },
    labels: { anyOf: [{ type: 'object' }, { type: 'null' }] },
    list: { type: 'array' },
    note: { type: ['string', 'null'] },
    mode: { enum: ['fast', 'slow'] },
    any: {},
  },
  required: ['url'],
};

const typed = (...words: [string, string][]) => typedArguments('t', schema, [['url', 'x'], ...words]);

function refusal(run: () => unknown): CliError {
  try {
    run();
  } catch (error) {
    if (error instanceof CliError) return error;
    throw error;
  }
  throw new Error('it was accepted');
}

test('values get the type that the schema asks for', () => {
  expect(
    typed(
      ['max', '12'],
      ['ratio', '1.5'],
      ['raw', 'false'],
      ['labels', '{"a":"b"}'],
      ['list', '[1]'],
      ['mode', 'fast'],
      ['any', '{"b":1}'],
    ),
  ).toEqual({ url: 'x', max: 12, ratio: 1.5, raw: false, labels: { a: 'b' }, list: [1], mode: 'fast', any: { b: 1 } });
});

test('a string argument is passed on exactly as written, whatever it looks like', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(typedArguments('t', schema, [['url', text]])).toEqual({ url: text });
    }),
  );
});

test('null is null where the schema allows it, and text where it does not', () => {
  expect(typed(['labels', 'null'], ['note', 'null'])).toMatchObject({ labels: null, note: null });
  expect(typedArguments('t', schema, [['url', 'null']])).toEqual({ url: 'null' });
});

test('the types of a schema are told in its order, each once, and none when it accepts anything', () => {
  const types = [...Object.values(schema.properties), { enum: ['a', null, 'b'] }].map(typesOf);
  expect(types).toEqual([
    ['string'],
    ['integer'],
    ['number'],
    ['boolean'],
    ['object', 'null'],
    ['array'],
    ['string', 'null'],
    ['string'],
    [],
    ['string', 'null'],
  ]);
});

test('a value of the wrong type is refused with the key, the value and what is accepted', () => {
  const error = refusal(() => typed(['max', '1.5']));
  expect(error.message).toBe('max got "1.5", accepts integer');
  expect(error.next).toBe('write it as a whole number');
});

test('an unknown argument is refused with the list of the known ones', () => {
  const error = refusal(() => typed(['maximum', '1']));
  expect(error.message).toBe('t has no argument "maximum"');
  expect(error.next).toContain('url, max, ratio');
});

test('names that every object inherits are not arguments', () => {
  expect(refusal(() => typed(['constructor', '1'])).message).toContain('no argument "constructor"');
  expect(refusal(() => typed(['__proto__', '1'])).message).toContain('no argument "__proto__"');
});

test('every missing required argument is named', () => {
  expect(refusal(() => typedArguments('t', { ...schema, required: ['url', 'max'] }, [])).message).toBe('t needs url, max');
});

test('words are split at the first =, and @ names a file', () => {
  expect(parseWord('command=a=b')).toEqual({ key: 'command', text: 'a=b' });
  expect(parseWord('empty=')).toEqual({ key: 'empty', text: '' });
  expect(parseWord('code=@fib.py')).toEqual({ key: 'code', file: 'fib.py' });
  expect(parseWord('sign=@')).toEqual({ key: 'sign', text: '@' });
  expect(refusal(() => parseWord('url')).message).toBe('"url" is not key=value');
  expect(refusal(() => parseWord('=x')).message).toBe('"=x" is not key=value');
});
