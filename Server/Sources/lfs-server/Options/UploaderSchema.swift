import LFSSyncServer

extension SyncSchema {
    /// What the sample uploader's databases share: files, and a document for each.
    static let uploader = SyncSchema(tables: [
        Table(
            "uploader_document",
            [
                Column("path", .text, isRequired: true), Column("title", .text, isRequired: true),
                Column("addedAt", .text, isRequired: true),
                Column("fileId", .text, isRequired: true, parent: Parent("lfs_file")),
                Column("stamp", .text, isRequired: true),
            ])
    ])
}
