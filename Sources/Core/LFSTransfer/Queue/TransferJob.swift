package import LFSStorage
package import LFSSystem

/// A file that waits for its upload, as stored in the durable queue.
package struct TransferJob: Hashable, Sendable, Identifiable {
    package let id: FileID
    package let key: ObjectKey
    package let byteCount: Int64
    package let content: Content
    /// The number of attempts that failed for a reason of the file itself.
    package let attempts: Int
    /// The error code of the last failed attempt.
    package let lastError: StorageError.Code?
    /// The bytes that failed attempts have uploaded.
    package let sending: SendBudget
    package let checkpoint: UploadCheckpoint?
    /// See ``UploadSession/replacesObject``.
    package let replacesObject: Bool
    /// A number that changes whenever the job is queued. The failure of an earlier turn is not recorded for a later
    /// one.
    package let turn: Int64

    package init(
        id: FileID, key: ObjectKey, byteCount: Int64, content: Content, attempts: Int,
        lastError: StorageError.Code? = nil,
        sending: SendBudget = SendBudget(), checkpoint: UploadCheckpoint?, replacesObject: Bool = false, turn: Int64 = 0
    ) {
        self.id = id
        self.key = key
        self.byteCount = byteCount
        self.content = content
        self.attempts = attempts
        self.lastError = lastError
        self.sending = sending
        self.checkpoint = checkpoint
        self.replacesObject = replacesObject
        self.turn = turn
    }

    /// The queue's data about the bytes at the time when the job was read.
    package struct Content: Hashable, Sendable {
        package let sha256: String
        package let crc64: String?
        package let contentType: String?
        package let name: String?
        /// The user's file with the bytes, if it was attached without a copy.
        package let original: OriginalFile?
        /// The time of the read, in milliseconds since 1970.
        package let readAt: Int64
        /// The queue's change count at the time of the read. While it stays the same, the data is current.
        package let changes: UInt64

        package init(
            sha256: String, crc64: String? = nil, contentType: String?, name: String?, original: OriginalFile? = nil,
            readAt: Int64 = 0, changes: UInt64 = 0
        ) {
            self.sha256 = sha256
            self.crc64 = crc64
            self.contentType = contentType
            self.name = name
            self.original = original
            self.readAt = readAt
            self.changes = changes
        }
    }

    package var lane: TransferLane { TransferLane(byteCount: byteCount) }
}

/// The queues for small and large files. A huge file must not delay small ones that could be uploaded at the same time.
package enum TransferLane: Int, CaseIterable, Sendable {
    case small = 0, large = 1

    package init(byteCount: Int64) {
        self = byteCount < LargeFile.byteCount ? .small : .large
    }
}
