import LFSSyncServer

extension SyncSchema {
    /// The schema of the sample uploader's databases: files, and a document for each.
    static let uploader = SyncSchema(tables: [
        Table(
            "uploader_document",
            columns: [
                Column("path", kind: .text, isRequired: true), Column("title", kind: .text, isRequired: true),
                Column("addedAt", kind: .text, isRequired: true),
                Column("fileId", kind: .text, isRequired: true, parent: Parent("lfs_file")),
                Column("stamp", kind: .text, isRequired: true),
            ])
    ])
}
