import GRDB

/// The numbers of local files without an upload on this device. They stay local until someone acts.
struct UnqueuedFiles {
    /// Files of other devices, which those devices have not uploaded yet.
    private(set) var ofOthers = 0
    /// Files of this device. Their bytes are lost, for example after a reset, or another program has removed their
    /// uploads.
    private(set) var own = 0

    /// - Throws: the database's error.
    static func fetch(_ db: Database) throws -> UnqueuedFiles {
        let sql = """
            SELECT \(DocumentTable.isOwn), COUNT(*) FROM lfs_file f
            WHERE f.status = 'local' AND NOT EXISTS (SELECT 1 FROM lfs_job j WHERE j.fileID = f.id) GROUP BY 1
            """
        var files = UnqueuedFiles()
        for row in try Row.fetchAll(db, sql: sql) {
            let count = Int.fromDatabaseValue(row[1]) ?? 0
            if Bool.fromDatabaseValue(row[0]) ?? false { files.own += count } else { files.ofOthers += count }
        }
        return files
    }

    /// The lines of `status`: the cause, and what to do.
    var lines: [String] {
        var lines: [String] = []
        if ofOthers > 0 {
            let count = Format.count(ofOthers, noun: "file")
            lines.append(
                "\(count) of other devices: each waits until its device runs 'push' or 'resume'. If that device is "
                    + "gone, 'remove' gives the file up")
        }
        if own > 0 {
            let count = Format.count(own, noun: "file")
            lines.append(
                "\(count) of this device without an upload: 'verify --repair' uploads those whose bytes it finds")
        }
        return lines + (lines.isEmpty ? [] : ["'list --status local' names these files"])
    }
}
