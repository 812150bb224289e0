import Foundation
import JournalStorage
import LFS

/// The small pictures of the page: two are made at a time, each once, however many ask for it.
actor Thumbnails {
    static let maxRunning = 2
    /// How many are made between two looks at the folder's size.
    private static let trimInterval = 50

    private let lfs: LFSManager
    private let folder: ThumbnailFolder
    private let tool: ThumbnailTool
    private var running: Set<String> = []
    private var waiting: [CheckedContinuation<Void, Never>] = []
    /// What the tool could not read, until the next start.
    private var failed: Set<String> = []
    private var made = 0

    init(lfs: LFSManager, folder: ThumbnailFolder, tool: ThumbnailTool) {
        (self.lfs, self.folder, self.tool) = (lfs, folder, tool)
    }

    /// The small picture of a file; nil when there can be none.
    ///
    /// - Throws: `LFSError` when the file itself cannot be had, `CancellationError`.
    func data(of file: FileData) async throws -> Data? {
        if failed.contains(file.sha256) { return nil }
        if let known = folder.data(file.sha256) { return known }
        await enter(file.sha256)
        defer { leave(file.sha256) }
        try Task.checkCancellation()
        if let known = folder.data(file.sha256) { return known }
        if failed.contains(file.sha256) { return nil }
        // The first bytes tell whether the tool may see it at all.
        guard try await PictureType.of(file, in: lfs) != nil, let source = try await lfs.localURL(of: file) else {
            return nil
        }
        let name = folder.newName()
        do {
            try await tool.make(of: source, as: name, in: folder.url)
            try folder.keep(name, as: file.sha256)
        } catch is ThumbnailError {
            folder.remove(name)
            if failed.count > 10_000 { failed = [] }
            failed.insert(file.sha256)
            return nil
        } catch {
            folder.remove(name)
            throw error
        }
        made += 1
        if made % Self.trimInterval == 1 { try folder.trim() }
        return folder.data(file.sha256)
    }

    // MARK: Turns

    private func enter(_ sha256: String) async {
        while running.count >= Self.maxRunning || running.contains(sha256) {
            await withCheckedContinuation { waiting.append($0) }
        }
        running.insert(sha256)
    }

    /// Everybody looks again, and who is too early waits again.
    private func leave(_ sha256: String) {
        running.remove(sha256)
        let all = waiting
        waiting = []
        for continuation in all { continuation.resume() }
    }
}
