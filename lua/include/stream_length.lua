-- The length for the event stream that meta holds, if XADD and XTRIM take it; BullMQ's default for any other text.
local function stream_length(text)
  if not text or text == '10000' or text == '0' or #text < 19 and string.find(text, '^[1-9]%d*$') then
    return text
  end
  return '10000'
end
