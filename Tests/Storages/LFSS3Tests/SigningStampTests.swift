import Foundation
import LFSHTTPStorage
import Testing

@testable import LFSS3

@Suite("Dates of signatures") struct SigningStampTests {
    @Test("Time stamps have leading zeros")
    func stamps() {
        #expect(UTCTime(Date(timeIntervalSince1970: 1_369_353_600)).stamp == "20130524T000000Z")
        #expect(UTCTime(Date(timeIntervalSince1970: 951_826_209.9)).stamp == "20000229T121009Z")
        #expect(UTCTime(Date(timeIntervalSince1970: -0.5)).stamp == "19691231T235959Z")
        #expect(UTCTime(Date(timeIntervalSince1970: 951_826_209)).dayStamp == "20000229")
    }
}
