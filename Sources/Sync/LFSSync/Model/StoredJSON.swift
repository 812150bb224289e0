import LFSWire

/// JSON that this device has stored in a table of sync. Other programs can write to the table, too.
enum StoredJSON {
    /// Reads a text of a table.
    ///
    /// - Throws: ``SyncError/Code/unusableDatabase`` if it is not what this device writes.
    static func read<Value>(
        _ text: String, of table: String, _ body: (inout JSONScanner) throws -> Value
    ) throws -> Value {
        do {
            return try Array(text.utf8).withUnsafeBytes { bytes in
                var scanner = JSONScanner(bytes)
                return try body(&scanner)
            }
        } catch let failure as WireFailure {
            throw SyncError(
                .unusableDatabase,
                message: """
                    Another program has damaged a row of the table \(table). Restore a copy of the database, or sign \
                    in again with a new one. (\(failure.message))
                    """,
                cause: failure)
        }
    }
}
