public import Foundation
import LFSFiles

/// Where the bytes of a new file come from.
///
/// Whatever it is, it is read once, in pieces, and never held in memory as a whole. A handle or a stream is read from
/// where it stands to its end; it is neither rewound nor closed.
public struct FileSource: Sendable {
    let ingest: IngestSource
    /// The name to show, which the source itself suggests or the app has given.
    private(set) var name: String?
    /// The media type; nil for that of the name's extension.
    private(set) var contentType: String?
    /// Why it can be no source at all.
    private(set) var refusal: LFSError?

    /// Bytes in memory.
    public static func bytes(_ bytes: some ContiguousBytes & Sendable) -> FileSource {
        FileSource(ingest: .bytes(bytes), name: nil)
    }

    /// A file that stays where it is. It must not change while it is read.
    public static func file(_ url: URL) -> FileSource {
        FileSource(ingest: .copying(path: url.path), name: url.lastPathComponent, refusal: refusal(url))
    }

    /// A file that is given up: it is gone from its place when `makeFile` returns. Within one file system it is not
    /// copied.
    public static func movingFile(_ url: URL) -> FileSource {
        FileSource(ingest: .moving(path: url.path), name: url.lastPathComponent, refusal: refusal(url))
    }

    /// Chunks as they come, a network body for example.
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

    /// The next bytes of an open file, so many at most. Others may write to it meanwhile.
    package static func handle(_ handle: FileHandle, byteCount: Int64) -> FileSource {
        FileSource(ingest: .handle(handle, byteCount: byteCount), name: nil)
    }

    /// An input stream, opened if it is not open yet.
    public static func stream(_ stream: sending InputStream) -> FileSource {
        FileSource(ingest: .stream(IngestSource.StreamBox(stream)), name: nil)
    }

    /// The same source with another name to show, and the media type if it is known better than by the name's
    /// extension.
    public func named(_ name: String?, contentType: String? = nil) -> FileSource {
        var named = self
        (named.name, named.contentType) = (name, contentType)
        return named
    }

    private static func refusal(_ url: URL) -> LFSError? {
        if url.isFileURL { return nil }
        // Not the whole URL: it may have a password or a token in it.
        let scheme = url.scheme.map { "of the scheme '\($0)'" } ?? "without a scheme"
        return LFSError(
            .notAFile,
            """
            The URL is one \(scheme), not of a file on this device. Fetch it first and pass its bytes as .chunks or \
            .bytes, or make the URL with URL(fileURLWithPath:).
            """
        )
    }
}
