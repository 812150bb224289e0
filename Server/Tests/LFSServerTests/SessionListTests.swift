import Foundation
import Testing

@testable import LFSSyncServer
@testable import lfs_server

@Suite("List of sessions")
struct SessionListTests {
    private let session = SyncSessionInfo(
        id: "s1", account: "ann", device: "phone", createdAt: Date(timeIntervalSince1970: 0),
        seenAt: Date(timeIntervalSince1970: 86_400 * 20_000), expiresAt: nil,
        contacts: [
            .init(
                type: "FileV1", firstAt: Date(timeIntervalSince1970: 86_400 * 19_000),
                lastAt: Date(timeIntervalSince1970: 86_400 * 20_000 + 3_661)),
            .init(type: "RecipeV2", firstAt: nil, lastAt: nil),
        ])

    @Test("A session is followed by the last contact of each of its types")
    func lines() {
        #expect(
            SessionCommand.List.lines([session], forPerson: false) == [
                "s1  ann  2024-10-04  phone", "    FileV1  2024-10-04T01:01:01Z", "    RecipeV2  -",
            ])
    }

    @Test("A terminal shows the sessions in columns below a header")
    func columns() {
        #expect(
            SessionCommand.List.lines([session], forPerson: true) == [
                "id  account  last request  device", "s1  ann      2024-10-04    phone",
                "    FileV1  2024-10-04T01:01:01Z", "    RecipeV2  -",
            ])
    }

    @Test("The JSON object of a session has the first and last contact of each of its types")
    func json() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let text = String(decoding: try encoder.encode(SessionCommand.List.Line(session)), as: UTF8.self)
        let file = #"{"firstContact":"2022-01-08T00:00:00Z","lastContact":"2024-10-04T01:01:01Z","type":"FileV1"}"#
        #expect(text.contains(#""types":[\#(file),{"type":"RecipeV2"}]"#), "\(text)")
        #expect(text.contains(#""lastRequest":"2024-10-04""#))
    }
}
