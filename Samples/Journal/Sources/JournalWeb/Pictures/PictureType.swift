import Foundation
import LFS

/// The types of pictures that browsers show without executing them. Only the first bytes determine the type.
enum PictureType: String, CaseIterable, Sendable {
    case jpeg, png, gif, webp, avif, heic

    /// The number of bytes that determine the type.
    static let headByteCount = 12

    var contentType: String { "image/\(rawValue)" }

    var fileExtension: String { self == .jpeg ? "jpg" : rawValue }

    /// - Parameter head: The first bytes: ``headByteCount`` of them, or fewer if the file is shorter.
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

    /// Returns the type of a stored file. Nil for any other file.
    ///
    /// - Throws: `LFSError` if the first bytes cannot be read.
    static func of(_ file: FileData, in lfs: LFSManager) async throws -> PictureType? {
        PictureType(head: try await lfs.bytes(of: file, range: 0..<Int64(headByteCount)) ?? Data())
    }

    /// Creates the type from a media type.
    init?(contentType: String) {
        let type = contentType.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
        guard let match = Self.allCases.first(where: { $0.contentType == type }) else { return nil }
        self = match
    }
}
