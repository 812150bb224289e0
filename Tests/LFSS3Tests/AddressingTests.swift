import LFSS3
import Testing

@Suite struct AddressingTests {
    @Test func wordsOfTheCommandLineNameTheStyles() {
        #expect(S3Addressing(rawValue: "path") == .path)
        #expect(S3Addressing(rawValue: "virtual") == .virtual)
        #expect(S3Addressing(rawValue: "other") == nil)
    }
}
