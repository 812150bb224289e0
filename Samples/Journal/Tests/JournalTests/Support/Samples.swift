import Foundation
import JournalStorage

/// Returns the instant of a text in the format of the files, such as `2026-03-29T01:30:00Z`.
func instant(_ text: String) throws -> Date { try Date.ISO8601FormatStyle().parse(text) }

func record(
    _ start: String, end: String? = nil, id: UUID = UUID(), comment: String = "", tags: [UUID] = []
) throws -> TimeRecord {
    TimeRecord(
        id: id, start: try instant(start), end: try end.map(instant), timeZone: .gmt, comment: comment, tags: tags)
}

/// Returns bytes that depend on the seed.
func bytes(_ count: Int, seed: UInt8 = 1) -> Data {
    Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) ^ seed })
}

/// Returns chunks that are available immediately.
func chunks(_ data: Data, of size: Int = 1_000) -> ImageChunks {
    AsyncThrowingStream { continuation in
        var rest = data[...]
        while !rest.isEmpty {
            continuation.yield(Data(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        continuation.finish()
    }
}

func joined(_ chunks: ImageChunks) async throws -> Data {
    var data = Data()
    for try await chunk in chunks { data += chunk }
    return data
}
