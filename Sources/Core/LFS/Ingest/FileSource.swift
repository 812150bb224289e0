public import Foundation
import LFSFiles

/// The source of the bytes of a new file.
///
/// Every source is read once, in pieces, and never held in memory as a whole. A handle or a stream is read from its
/// current position to its end. It is neither rewound nor closed.
public struct FileSource: Sendable {
    let ingest: IngestSource
    /// The name to show, from the source itself or from the app.
    private(set) var name: String?
    /// The media type. Nil for the type of the name's extension.
    private(set) var contentType: String?
    /// The reason why it cannot be a source at all.
    private(set) var refusal: LFSError?

    /// Bytes in memory.
    public static func bytes(_ bytes: some ContiguousBytes & Sendable) -> FileSource {
        FileSource(ingest: .bytes(bytes), name: nil)
    }

    /// A file that stays in its place. It must not change while it is read.
    public static func file(_ url: URL) -> FileSource {
        FileSource(ingest: .copying(path: url.path), name: url.lastPathComponent, refusal: refusal(url))
    }

    /// A file that is moved: it is no longer in its place when `makeFile` returns. Within one file system it is not
    /// copied.
    public static func movingFile(_ url: URL) -> FileSource {
        FileSource(ingest: .moving(path: url.path), name: url.lastPathComponent, refusal: refusal(url))
    }

    /// A file that stays in its place and is not copied, so attaching it needs no disk space.
    ///
    /// LFS reads the file to compute its checksums, and again for the upload. A file of up to 256 KiB whose upload
    /// starts soon is read only once. LFS never changes or removes the file. Until the upload is confirmed the file is
    /// the only copy of the bytes: if another program changes or removes it before, the upload fails with
    /// `StorageError.Code.sourceChanged`. Use ``file(_:)`` for bytes that must survive that.
    ///
    /// Reads use the file while it is unchanged, otherwise the remote object.
    public static func original(_ url: URL) -> FileSource {
        FileSource(
            ingest: .original(OriginalSource(path: Array(url.standardizedFileURL.path.utf8))),
            name: url.lastPathComponent, refusal: refusal(url))
    }

    /// The file at the path, which the caller has open, in its place.
    package static func original(path: [UInt8], handle: FileHandle) -> FileSource {
        FileSource(ingest: .original(OriginalSource(path: path, handle: handle)), name: nil)
    }

    /// A sequence of chunks, for example a network body.
    public static func chunks<Chunks: AsyncSequence & Sendable>(_ chunks: Chunks) -> FileSource
    where Chunks.Element: ContiguousBytes & Sendable {
        FileSource(
            ingest: .chunks { consume in for try await chunk in chunks { try await consume(chunk) } },
            name: nil)
    }

    /// An open file, pipe or socket.
    public static func handle(_ handle: FileHandle) -> FileSource {
        FileSource(ingest: .handle(handle), name: nil)
    }

    /// The next bytes of an open file, at most `byteCount`. Other writers may append to it at the same time.
    package static func handle(_ handle: FileHandle, byteCount: Int64) -> FileSource {
        FileSource(ingest: .handle(handle, byteCount: byteCount), name: nil)
    }

    /// An input stream, opened if it is not open yet.
    public static func stream(_ stream: sending InputStream) -> FileSource {
        FileSource(ingest: .stream(IngestSource.StreamBox(stream)), name: nil)
    }

    /// Returns the same source with another name to show, and a media type if it is not the one of the name's
    /// extension.
    public func named(_ name: String?, contentType: String? = nil) -> FileSource {
        var named = self
        named.name = name
        named.contentType = contentType
        return named
    }

    private static func refusal(_ url: URL) -> LFSError? {
        if url.isFileURL { return nil }
        // Without the rest of the URL, which may contain a password or a token.
        let scheme = url.scheme.map { "has the scheme '\($0)'" } ?? "has no scheme"
        return LFSError(
            .notAFile,
            message: """
                The URL \(scheme), so it does not refer to a file on this device. Download its bytes first and pass \
                them as .chunks or .bytes, or make the URL with URL(fileURLWithPath:).
                """
        )
    }
}
