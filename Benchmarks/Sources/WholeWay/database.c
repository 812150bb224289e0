#include "database.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "failure.h"

// From this size on a file is in the lane of the large ones.
#define LARGE_BYTES (8LL << 20)

static const char schema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE file ("
    "  id TEXT PRIMARY KEY NOT NULL, status TEXT NOT NULL, url TEXT, proof TEXT, name TEXT, contentType TEXT,"
    "  byteCount INTEGER NOT NULL, sha256 TEXT NOT NULL, key TEXT NOT NULL, createdAt DATETIME NOT NULL,"
    "  updateID TEXT NOT NULL);"
    "CREATE INDEX file_updateID ON file(updateID);"
    "CREATE TABLE job ("
    "  fileID TEXT PRIMARY KEY NOT NULL, state TEXT NOT NULL DEFAULT 'queued', lane INTEGER NOT NULL,"
    "  byteCount INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, notBefore INTEGER NOT NULL,"
    "  errorCode TEXT, errorMessage TEXT, checkpoint BLOB, sentBytes INTEGER NOT NULL DEFAULT 0,"
    "  sentSince INTEGER NOT NULL DEFAULT 0, replacesObject INTEGER NOT NULL DEFAULT 0);"
    "CREATE INDEX job_due ON job(state, lane, notBefore, fileID);"
    "COMMIT;";

static sqlite3 *database;
static sqlite3_stmt *begin, *commit, *insert_file, *insert_job, *save_checkpoint, *update_file, *delete_job;

static _Noreturn void fail_database(const char *what) { fail("%s: %s", what, sqlite3_errmsg(database)); }

static void execute(const char *sql) {
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK) fail_database(sql);
}

static sqlite3_stmt *prepare(const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) != SQLITE_OK) {
        fail_database(sql);
    }
    return statement;
}

// Requires the answer of a setting, which SQLite does not report as an error when it does not take it.
static void set(const char *pragma, const char *wanted) {
    sqlite3_stmt *statement = prepare(pragma);
    if (sqlite3_step(statement) != SQLITE_ROW) fail_database(pragma);
    const char *value = (const char *)sqlite3_column_text(statement, 0);
    if (!value || strcmp(value, wanted) != 0) fail("SQLite does not take %s", pragma);
    sqlite3_finalize(statement);
}

static void bind_text(sqlite3_stmt *statement, int place, const char *text) {
    if (sqlite3_bind_text(statement, place, text, -1, SQLITE_STATIC) != SQLITE_OK) fail_database("bind");
}

static void bind_number(sqlite3_stmt *statement, int place, long long number) {
    if (sqlite3_bind_int64(statement, place, number) != SQLITE_OK) fail_database("bind");
}

// Runs a prepared statement; one that is about a row has to change just that.
static void run(sqlite3_stmt *statement) {
    if (sqlite3_step(statement) != SQLITE_DONE) fail_database(sqlite3_sql(statement));
    sqlite3_reset(statement);
}

static void change(sqlite3_stmt *statement) {
    run(statement);
    if (sqlite3_changes(database) != 1) fail("%s changed %d rows", sqlite3_sql(statement), sqlite3_changes(database));
}

void database_make(const char *path, char namespace[NAMESPACE_TEXT]) {
    if (access(path, F_OK) == 0) fail("%s is there already", path);
    if (sqlite3_open(path, &database) != SQLITE_OK) fail_database(path);
    set("PRAGMA journal_mode = WAL", "wal");
    execute("PRAGMA synchronous = FULL");
    set("PRAGMA synchronous", "2");
    execute(schema);
    begin = prepare("BEGIN IMMEDIATE");
    commit = prepare("COMMIT");
    insert_file = prepare(
        "INSERT INTO file (id, status, name, byteCount, sha256, key, createdAt, updateID)"
        " VALUES (?, 'local', ?, ?, ?, ?, ?, ?)");
    insert_job = prepare("INSERT INTO job (fileID, lane, byteCount, notBefore) VALUES (?, ?, ?, ?)");
    save_checkpoint = prepare("UPDATE job SET checkpoint = ? WHERE fileID = ?");
    update_file = prepare(
        "UPDATE file SET status = 'remote', url = ?, proof = 'checksum', updateID = ?"
        " WHERE id = ? AND status = 'local'");
    delete_job = prepare("DELETE FROM job WHERE fileID = ?");
    char id[ID_TEXT];
    make_id(id, milliseconds());
    make_namespace(id, namespace);
}

void database_begin(void) { run(begin); }
void database_commit(void) { run(commit); }

void database_attach(const struct file *file) {
    char created[32], update_id[ID_TEXT];
    time_t seconds = (time_t)(file->created / 1000);
    struct tm parts;
    gmtime_r(&seconds, &parts);
    size_t length = strftime(created, sizeof created, "%Y-%m-%d %H:%M:%S", &parts);
    snprintf(created + length, sizeof created - length, ".%03d", (int)(file->created % 1000));
    make_id(update_id, milliseconds());
    bind_text(insert_file, 1, file->id);
    bind_text(insert_file, 2, file->name);
    bind_number(insert_file, 3, file->bytes);
    bind_text(insert_file, 4, file->sha256);
    bind_text(insert_file, 5, file->key);
    bind_text(insert_file, 6, created);
    bind_text(insert_file, 7, update_id);
    change(insert_file);
    bind_text(insert_job, 1, file->id);
    bind_number(insert_job, 2, file->bytes >= LARGE_BYTES);
    bind_number(insert_job, 3, file->bytes);
    bind_number(insert_job, 4, milliseconds());
    change(insert_job);
}

void database_note_progress(const struct file *file, const char *checkpoint, size_t bytes) {
    if (sqlite3_bind_blob64(save_checkpoint, 1, checkpoint, bytes, SQLITE_STATIC) != SQLITE_OK) fail_database("bind");
    bind_text(save_checkpoint, 2, file->id);
    change(save_checkpoint);
}

void database_note_upload(const struct file *file, const char *url) {
    char update_id[ID_TEXT];
    make_id(update_id, milliseconds());
    bind_text(update_file, 1, url);
    bind_text(update_file, 2, update_id);
    bind_text(update_file, 3, file->id);
    change(update_file);
    bind_text(delete_job, 1, file->id);
    change(delete_job);
}

void database_close(void) {
    sqlite3_stmt *statements[] = {
        begin, commit, insert_file, insert_job, save_checkpoint, update_file, delete_job,
    };
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) sqlite3_finalize(statements[i]);
    if (sqlite3_close(database) != SQLITE_OK) fail_database("close");
}
