// Copies a static library of Swift's runtime so that a linker may leave out what a program does
// not use (docs/decisions/0087-a-small-program.md): its code and constants lose SHF_GNU_RETAIN.
//
// What the runtime looks up by the names of its sections (swift5_…) keeps the flag.
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what) {
  fprintf(stderr, "unretain: %s\n", what);
  exit(1);
}

static int isCodeOrConstant(const char *name) {
  static const char *starts[] = {".text", ".rodata", ".data", ".bss"};
  for (int i = 0; i < 4; i++)
    if (!strncmp(name, starts[i], strlen(starts[i]))) return 1;
  return 0;
}

static void change(char *object, size_t size) {
  Elf64_Ehdr *header = (Elf64_Ehdr *)object;
  if (size < sizeof *header || memcmp(object, ELFMAG, SELFMAG)) return;
  Elf64_Shdr *sections = (Elf64_Shdr *)(object + header->e_shoff);
  // Of many sections the first one tells how many, and where their names are.
  size_t count = header->e_shnum ? header->e_shnum : sections[0].sh_size;
  size_t names = header->e_shstrndx == SHN_XINDEX ? sections[0].sh_link : header->e_shstrndx;
  if (header->e_shoff + count * sizeof *sections > size || names >= count) fail("no sections");
  for (size_t i = 0; i < count; i++)
    if (isCodeOrConstant(object + sections[names].sh_offset + sections[i].sh_name))
      sections[i].sh_flags &= ~(Elf64_Xword)0x200000;
}

int main(int count, char **arguments) {
  FILE *in = count == 3 ? fopen(arguments[1], "rb") : NULL;
  FILE *out = in ? fopen(arguments[2], "wb") : NULL;
  if (!out || fseek(in, 0, SEEK_END)) fail("unretain FROM.a TO.a");
  size_t size = ftell(in);
  char *archive = malloc(size);
  rewind(in);
  if (!archive || fread(archive, 1, size, in) != size || size < 8 || memcmp(archive, "!<arch>\n", 8))
    fail("no static library");
  // A member has a header of 60 bytes, in which its size stands from the 48th on.
  for (size_t at = 8; at + 60 <= size;) {
    size_t length = strtoul(archive + at + 48, NULL, 10);
    if (length > size - at - 60) fail("a member is cut off");
    change(archive + at + 60, length);
    at += 60 + length + length % 2;
  }
  if (fwrite(archive, 1, size, out) != size || fclose(out)) fail("cannot write");
  return 0;
}
