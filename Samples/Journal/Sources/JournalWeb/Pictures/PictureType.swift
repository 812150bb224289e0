import Foundation
import LFS

/// The kinds of pictures that browsers show and do not run, told by their first bytes and by nothing else.
enum PictureType: String, CaseIterable, Sendable {
    case jpeg, png, gif, webp, avif, heic

    /// How many bytes it takes to tell.
    static let headByteCount = 12

    var contentType: String { "image/\(rawValue)" }

    var fileExtension: String { self == .jpeg ? "jpg" : rawValue }

    /// - Parameter head: the first bytes, ``headByteCount`` of them unless the file is shorter.
    init?(head: Data) {
        let bytes = Array(head.prefix(Self.headByteCount))
        let text = bytes.map { Character(Unicode.Scalar($0)) }
        // JPEG: ITU T.81, B.1.1.3. PNG: section 5.2. GIF: section 17. WebP: RFC 9649, section 2.3. HEIF: ISO 23008-12.
        if bytes.starts(with: [0xff, 0xd8, 0xff]) {
            self = .jpeg
        } else if bytes.starts(with: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]) {
            self = .png
        } else if ["GIF87a", "GIF89a"].contains(String(text.prefix(6))) {
            self = .gif
        } else if bytes.count == 12, String(text[0..<4]) == "RIFF", String(text[8...]) == "WEBP" {
            self = .webp
        } else if bytes.count == 12, String(text[4..<8]) == "ftyp", ["avif", "avis"].contains(String(text[8...])) {
            self = .avif
        } else if bytes.count == 12, String(text[4..<8]) == "ftyp",
            ["heic", "heix", "mif1"].contains(String(text[8...]))
        {
            self = .heic
        } else {
            return nil
        }
    }

    /// The kind of a stored file; nil for everything else.
    ///
    /// - Throws: `LFSError` when its first bytes cannot be had.
    static func of(_ file: FileData, in lfs: LFSManager) async throws -> PictureType? {
        PictureType(head: try await lfs.bytes(of: file, range: 0..<Int64(headByteCount)) ?? Data())
    }

    /// The kind that a media type names.
    init?(contentType: String) {
        let type = contentType.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
        guard let match = Self.allCases.first(where: { $0.contentType == type }) else { return nil }
        self = match
    }
}
