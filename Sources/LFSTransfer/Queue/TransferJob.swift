package import LFSStorage
package import LFSSystem

/// One file that waits for its upload, as the durable queue describes it.
package struct TransferJob: Hashable, Sendable, Identifiable {
    package let id: FileID
    package let key: ObjectKey
    package let byteCount: Int64
    package let content: Content
    /// How often an upload was tried and failed for a reason of its own.
    package let attempts: Int
    /// Why the last try failed.
    package let lastError: StorageError.Code?
    /// What failed tries have sent.
    package let sending: SendBudget
    package let checkpoint: UploadCheckpoint?
    /// As ``UploadSession/replacesObject``.
    package let replacesObject: Bool
    /// A number that differs each time the job is queued. A failure of an earlier turn is not recorded for a later one.
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

    /// What the queue said of the bytes when the job was read.
    package struct Content: Hashable, Sendable {
        package let sha256: String
        package let crc64: String?
        package let contentType: String?
        package let name: String?
        /// When it was read, in milliseconds since 1970.
        package let readAt: Int64
        /// As long as the queue counts no further change, what was read is what it says.
        package let changes: UInt64

        package init(
            sha256: String, crc64: String? = nil, contentType: String?, name: String?, readAt: Int64 = 0,
            changes: UInt64 = 0
        ) {
            self.sha256 = sha256
            self.crc64 = crc64
            self.contentType = contentType
            self.name = name
            self.readAt = readAt
            self.changes = changes
        }
    }

    package var lane: TransferLane { TransferLane(byteCount: byteCount) }
}

/// Files are queued by size, so that a huge one never stands before small ones that could run beside it.
package enum TransferLane: Int, CaseIterable, Sendable {
    case small = 0, large = 1

    package init(byteCount: Int64) {
        self = byteCount < LargeFile.byteCount ? .small : .large
    }
}
