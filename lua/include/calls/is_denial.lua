-- Whether an error says that the user may not run a command. The words differ by server version.
local function is_denial(text)
  return string.find(text, 'run this command', 1, true) or string.find(text, 'permissions to run', 1, true)
end
