import GRDB

extension BackgroundRunner {
    /// Removes the note that a file is lost, now that its right bytes were fetched from its object.
    ///
    /// Of a row that is not `remote` the note stays: its object has to be made first, as a repair does.
    func clearLoss(of id: FileData.ID) async throws {
        // Nearly no file has such a note, and a look costs the writer nothing.
        let isNoted = try await readThroughCancellation { db in
            try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 \(Self.noteOfLoss))", arguments: [id, JobRow.lostCode])
        }
        guard isNoted == true else { return }
        try await write { db in
            try db.execute(sql: "DELETE \(Self.noteOfLoss)", arguments: [id, JobRow.lostCode])
        }
    }

    /// Arguments: file, the code.
    private static let noteOfLoss = """
        FROM lfs_job WHERE fileID = ?1 AND state = 'failed' AND errorCode = ?2
            AND EXISTS (SELECT 1 FROM lfs_file WHERE id = ?1 AND status = 'remote')
        """
}
