import Foundation
import LFS
import LFSFiles
import LFSHTTPStorage
import LFSStorage
import LFSSystem
import LFSTransfer
import Logging
import Synchronization

/// The hand-over of one lent upload: its requests are signed, its bytes are copied, and its tasks start.
///
/// The parts are recorded before the first task starts. So after a crash, each task belongs to a recorded part, or it
/// is cancelled.
struct Handover: Sendable {
    let uploads: BackgroundUploads
    let upload: Loans.Upload
    let room: HandoverRoom

    /// A part with its task and its range of the file.
    private struct Prepared: Sendable {
        let part: LentPart
        let task: BackgroundTask
        let range: Range<Int64>
    }

    private var loans: Loans { uploads.loans }

    /// - Returns: true if the session has a task of the file.
    func run() async -> Bool {
        do {
            if try await handOver() { return true }
        } catch {
            loans.logger.notice(
                "a file was not handed over", metadata: ["lfs.file": "\(upload.job.id)", "error.message": "\(error)"])
        }
        do {
            try await uploads.takeBack([upload.job.id])
        } catch {
            // The next comparison repeats this.
            loans.logger.notice("a loan was not given back", metadata: ["error.message": "\(error)"])
        }
        return false
    }

    private func handOver() async throws -> Bool {
        guard let source = try await loans.source(of: upload), let remaining = loans.remainingTime(of: upload)
        else { return false }
        let signed = try await uploads.storage.presignedParts(
            of: source, to: upload.job.key, session: loans.session(of: upload), limit: uploads.options.maxTasks,
            expires: remaining)
        uploads.options.onStep("signed")
        let folder = try await loans.outgoing()
        let prepared = try prepare(signed, in: folder)
        if prepared.isEmpty { return false }
        try await write(prepared, source: source, in: folder)
        return try await start(prepared)
    }

    private func prepare(_ signed: [PresignedPart], in folder: OutgoingFolder) throws -> [Prepared] {
        try signed.prefix { room.take($0.range.count) }.map { signed in
            let part = LentPart(fileID: upload.job.id, number: signed.number)
            guard let url = URL(string: signed.request.url) else {
                throw StorageError(.serverError, message: "A signed URL is invalid.", key: upload.job.key)
            }
            let task = BackgroundTask(
                label: uploads.label(of: part), url: url, headers: signed.request.headers,
                file: URL(fileURLWithPath: folder.path(of: part)))
            return Prepared(part: part, task: task, range: signed.range)
        }
    }

    private func write(_ prepared: [Prepared], source: UploadSource, in folder: OutgoingFolder) async throws {
        for prepared in prepared {
            let isWhole = try await BlockingPool.shared.run { flag in
                try folder.write(
                    prepared.part, range: prepared.range, flag: flag, reading: { try source.read(into: $0, at: $1) })
            }
            guard isWhole else {
                throw StorageError(.sourceChanged, message: "The local file became shorter.", key: upload.job.key)
            }
            uploads.options.onStep("written")
        }
    }

    private func start(_ prepared: [Prepared]) async throws -> Bool {
        try await uploads.turns.withPermit {
            // A deletion of the file may have taken the loan back, or its time may be over.
            guard try await loans.begin(upload, parts: prepared.map(\.part)) else { return false }
            uploads.options.onStep("recorded")
            var isStarted = false
            for prepared in prepared {
                do {
                    try await uploads.session.start(prepared.task)
                    isStarted = true
                } catch {
                    uploads.noteFailure(of: upload.job.id, reason: "\(error)")
                    try await loans.end(prepared.part)
                    try await uploads.removeFiles { $0 == prepared.part }
                }
                uploads.options.onStep("started")
            }
            return isStarted
        }
    }
}

/// The room for further tasks. The mutex owns it.
final class HandoverRoom: Sendable {
    private let left: Mutex<(taskCount: Int, byteCount: Int64)>

    init(taskCount: Int, byteCount: Int64) { left = Mutex((taskCount, byteCount)) }

    var taskCount: Int { max(left.withLock { $0.taskCount }, 0) }

    /// Takes the room of a task.
    ///
    /// - Returns: false if the room does not suffice.
    func take(_ byteCount: Int) -> Bool {
        left.withLock { left in
            guard left.taskCount > 0, left.byteCount >= Int64(byteCount) else { return false }
            left.taskCount -= 1
            left.byteCount -= Int64(byteCount)
            return true
        }
    }
}
