import Foundation

extension ThumbnailTool {
    /// No small picture is larger, in bytes: the program may not write more.
    static let maxByteCount = 16 << 20

    /// The bytes of a small picture, made in a folder of its own that is gone afterwards.
    ///
    /// - Parameters:
    ///   - source: the large picture.
    ///   - edge: of the small one, in pixels.
    ///   - parent: where the folder is made.
    /// - Throws: ``ThumbnailError``; the system's error for the folder; `CancellationError`.
    func data(
        of source: URL, edge: Int, in parent: URL = FileManager.default.temporaryDirectory
    ) async throws -> Data {
        let folder = parent.appending(path: "journal-picture-\(UUID().uuidString)", directoryHint: .isDirectory)
        // Not with the parents: nobody else may have made it before.
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let result = await Result { try await make(of: source, as: "small.jpg", edge: edge, in: folder) }
        let data = try? Data(contentsOf: folder.appending(path: "small.jpg"))
        try FileManager.default.removeItem(at: folder)
        try result.get()
        // A program may end well and have made nothing.
        guard let data, !data.isEmpty else { throw ThumbnailError.unreadable }
        return data
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
