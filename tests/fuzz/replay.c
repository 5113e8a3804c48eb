/*
 * replay.c - a fuzz target's main() where there is no libFuzzer
 *
 * Feeds every file of the directories named on the command line to the target
 * once, so that `make check` reruns each input that was ever of interest, with
 * any compiler.  Words that begin with '-' are libFuzzer's, and skipped.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data =
	    NULL; /* the exact size, so that a sanitizer sees a read past the end */
	long size;

	if (f == NULL || fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) < 0 ||
	    (data = malloc((size_t)size + (size == 0))) == NULL) {
		perror(path);
		exit(1);
	}
	rewind(f);
	if (fread(data, 1, (size_t)size, f) != (size_t)size) {
		perror(path);
		exit(1);
	}
	LLVMFuzzerTestOneInput(data, (size_t)size);
	free(data);
	fclose(f);
}

static size_t
replay_directory(const char *path)
{
	struct dirent **entry;
	size_t files = 0;
	int n = scandir(path, &entry, NULL, alphasort);

	if (n < 0) {
		perror(path);
		exit(1);
	}
	for (int i = 0; i < n; i++) {
		if (entry[i]->d_name[0] != '.') {
			char file[4096];

			snprintf(file, sizeof(file), "%s/%s", path, entry[i]->d_name);
			replay_file(file);
			files++;
		}
		free(entry[i]);
	}
	free(entry);
	return files;
}

int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (argv[i][0] != '-')
			printf("%s: %zu inputs\n", argv[i], replay_directory(argv[i]));
	return 0;
}
