import LFSHTTPStorage
import Testing

@Suite("Entity tags") struct EntityTagTests {
    @Test(
        "Entity tags are parsed with or without quotes",
        arguments: [("\"a\"", "a"), ("a", "a"), ("W/\"a\"", "a"), (" \"a-2\" ", "a-2"), ("\"", "\""), ("W/a", "W/a")])
    func entityTags(_ field: String, text: String) throws {
        let tag = try #require(EntityTag(field))
        #expect(tag.text == text)
        #expect(tag.quoted == "\"\(text)\"")
    }
}
