// A code of an invitation as a QR code (ISO/IEC 18004): version 2, 25 by 25 modules, level Q.
// That holds 29 letters of its alphabet; the code of an invitation has 27.

import { shape } from './elements.js';

const size = 25;
const [dataLength, checkLength] = [22, 22];
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:';

// The field of 256 elements in which the check words are computed, of x^8 + x^4 + x^3 + x^2 + 1.
const powers = [];
const logarithms = [];
for (let power = 0, value = 1; power < 255; power++) {
  powers[power] = value;
  logarithms[value] = power;
  value = value << 1 ^ (value & 128 ? 0x11d : 0);
}
const product = (one, other) =>
  one && other ? powers[(logarithms[one] + logarithms[other]) % 255] : 0;

/** What is left of the data, divided by the polynomial with the first powers as its zeros. */
function checkWords(data) {
  let divisor = [1];
  for (let power = 0; power < checkLength; power++) {
    divisor = [...divisor, 0].map((value, index) =>
      value ^ (index ? product(divisor[index - 1], powers[power]) : 0));
  }
  const rest = [...data, ...Array(checkLength).fill(0)];
  for (let index = 0; index < data.length; index++) {
    const factor = rest[index];
    divisor.forEach((value, at) => { rest[index + at] ^= product(value, factor); });
  }
  return rest.slice(data.length);
}

/** The letters as words of eight bits: mode, count, two letters in eleven bits, and filling. */
function dataWords(text) {
  let bits = '';
  const add = (value, length) => { bits += value.toString(2).padStart(length, '0'); };
  add(2, 4);
  add(text.length, 9);
  const letters = [...text].map((letter) => alphabet.indexOf(letter));
  for (let index = 0; index + 1 < letters.length; index += 2) {
    add(letters[index] * 45 + letters[index + 1], 11);
  }
  if (letters.length % 2) add(letters.at(-1), 6);
  bits = (bits + '0000').slice(0, dataLength * 8);
  bits = bits.padEnd(Math.ceil(bits.length / 8) * 8, '0');
  const words = bits.match(/.{8}/g).map((word) => parseInt(word, 2));
  for (let filler = 0xec; words.length < dataLength; filler ^= 0xec ^ 0x11) words.push(filler);
  return words;
}

const masks = [
  (x, y) => (x + y) % 2, (x, y) => y % 2, (x) => x % 3, (x, y) => (x + y) % 3,
  (x, y) => (Math.floor(y / 2) + Math.floor(x / 3)) % 2, (x, y) => x * y % 2 + x * y % 3,
  (x, y) => (x * y % 2 + x * y % 3) % 2, (x, y) => ((x + y) % 2 + x * y % 3) % 2,
];

/** What is the same in each code; the rest is null. `at(x, y)` is module [y][x]. */
function frame() {
  const grid = Array.from({ length: size }, () => Array(size).fill(null));
  const square = (left, top, reach, isDark) => {
    for (let y = -reach; y <= reach; y++) {
      for (let x = -reach; x <= reach; x++) {
        if (grid[top + y]?.[left + x] !== undefined) {
          grid[top + y][left + x] = isDark(Math.max(Math.abs(x), Math.abs(y)));
        }
      }
    }
  };
  for (let index = 0; index < size; index++) grid[6][index] = grid[index][6] = index % 2 === 0;
  for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]]) {
    square(x, y, 4, (distance) => distance !== 2 && distance !== 4);
  }
  square(18, 18, 2, (distance) => distance !== 1);
  // The places of the format are kept free.
  drawFormat(grid, 0);
  return grid;
}

/** Level and mask in 15 bits, twice: five of them, and ten that find errors. */
function drawFormat(grid, mask) {
  const value = 3 << 3 | mask;
  let rest = value << 10;
  for (let bit = 14; bit >= 10; bit--) if (rest >> bit & 1) rest ^= 0x537 << bit - 10;
  const bits = (value << 10 | rest) ^ 0x5412;
  const bit = (index) => (bits >> index & 1) === 1;
  for (let index = 0; index < 15; index++) {
    const down = index < 6 ? index : index < 8 ? index + 1 : size - 15 + index;
    grid[down][8] = bit(index);
    const across = index < 8 ? size - 1 - index : index < 9 ? 7 : 14 - index;
    grid[8][across] = bit(index);
  }
  grid[size - 8][8] = true;
}

function fill(grid, words) {
  let at = 0;
  for (let right = size - 1; right > 0; right -= 2) {
    // The sixth column is that of the clock.
    if (right === 6) right = 5;
    const isUpward = (right + 1 & 2) === 0;
    for (let step = 0; step < size; step++) {
      const y = isUpward ? size - 1 - step : step;
      for (const x of [right, right - 1]) {
        if (grid[y][x] !== null) continue;
        grid[y][x] = at < words.length * 8 && (words[at >> 3] >> 7 - (at & 7) & 1) === 1;
        at++;
      }
    }
  }
}

/** How hard a code is to read: long runs, squares, what looks like a corner, too dark or light. */
function penalty(grid) {
  let points = 0;
  const lines = [...grid, ...grid.map((_, x) => grid.map((row) => row[x]))]
    .map((line) => line.map(Number).join(''));
  for (const line of lines) {
    for (const run of line.match(/0+|1+/g)) if (run.length >= 5) points += run.length - 2;
    for (let index = 0; index + 11 <= size; index++) {
      if (['10111010000', '00001011101'].includes(line.slice(index, index + 11))) points += 40;
    }
  }
  for (let y = 1; y < size; y++) {
    for (let x = 1; x < size; x++) {
      const dark = grid[y][x] + grid[y - 1][x] + grid[y][x - 1] + grid[y - 1][x - 1];
      if (dark === 0 || dark === 4) points += 3;
    }
  }
  const share = grid.flat().filter(Boolean).length / size / size;
  return points + 10 * Math.floor(Math.abs(share - 0.5) * 20);
}

/** The modules of a text; null if it does not fit or has other letters. */
export function modules(text) {
  if (text.length > 29 || [...text].some((letter) => !alphabet.includes(letter))) return null;
  const data = dataWords(text);
  const words = [...data, ...checkWords(data)];
  const fixed = frame();
  let best = null;
  masks.forEach((isFree, mask) => {
    const grid = frame();
    fill(grid, words);
    for (let y = 0; y < size; y++) {
      for (let x = 0; x < size; x++) {
        if (fixed[y][x] === null && isFree(x, y) === 0) grid[y][x] = !grid[y][x];
      }
    }
    drawFormat(grid, mask);
    const points = penalty(grid);
    if (!best || points < best.points) best = { points, grid };
  });
  return best.grid;
}

/** It as a picture, dark on light also where the page is dark; nothing if it is no such text. */
export function picture(text) {
  const grid = modules(text);
  if (!grid) return null;
  const path = grid.flatMap((row, y) => row.map((isDark, x) =>
    isDark ? `M${x + 4} ${y + 4}h1v1h-1z` : '')).join('');
  return shape('svg', {
    viewBox: `0 0 ${size + 8} ${size + 8}`, class: 'qr', role: 'img', 'aria-label': 'The same code, '
      + 'for a camera', 'shape-rendering': 'crispEdges',
  }, shape('rect', { width: size + 8, height: size + 8, fill: '#fff' }),
  shape('path', { d: path, fill: '#000' }));
}
